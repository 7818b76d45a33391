
// The multiplier block of UltraScale+ as its manual (UG579) describes it, as far as generated text uses it: P registered, A, B, C, D and M if so asked,
// Z = 0, PCIN, P or C, X and Y = 0 or the product of A and B + D, or X = A:B and Y = C, Z + X + Y or Z - X - Y.
module DSP48E2 (
    input wire CLK,
    input wire [29:0] A, ACIN,
    input wire [17:0] B, BCIN,
    input wire [47:0] C, PCIN,
    input wire [26:0] D,
    input wire [8:0] OPMODE,
    input wire [3:0] ALUMODE,
    input wire [4:0] INMODE,
    input wire [2:0] CARRYINSEL,
    input wire CARRYIN, CARRYCASCIN, MULTSIGNIN,
    input wire CEA1, CEA2, CEB1, CEB2, CEC, CEM, CEP, CED, CEAD, CEINMODE, CECTRL, CEALUMODE, CECARRYIN,
    input wire RSTA, RSTB, RSTC, RSTM, RSTP, RSTD, RSTINMODE, RSTCTRL, RSTALUMODE, RSTALLCARRYIN,
    output reg [47:0] P,
    output wire [29:0] ACOUT,
    output wire [17:0] BCOUT,
    output wire [47:0] PCOUT,
    output wire [3:0] CARRYOUT,
    output wire CARRYCASCOUT, MULTSIGNOUT, OVERFLOW, UNDERFLOW, PATTERNDETECT, PATTERNBDETECT,
    output wire [7:0] XOROUT
);
    parameter USE_MULT = "MULTIPLY", AMULTSEL = "A", BMULTSEL = "B", PREADDINSEL = "A", A_INPUT = "DIRECT", B_INPUT = "DIRECT", USE_SIMD = "ONE48";
    parameter integer AREG = 1, ACASCREG = 1, BREG = 1, BCASCREG = 1, CREG = 1, MREG = 1, PREG = 1, ADREG = 1, DREG = 1;
    parameter integer INMODEREG = 1, OPMODEREG = 1, ALUMODEREG = 1, CARRYINREG = 1, CARRYINSELREG = 1;

    initial begin
        if (AREG > 1 || BREG != AREG || CREG > 1 || PREG != 1) $fatal(1, "data registers");
        if (USE_MULT == "MULTIPLY" ? AREG != 1 || CREG != 1 || MREG != 1 : MREG != 0) $fatal(1, "registers of the product");
        if (USE_MULT == "MULTIPLY" && (DREG != 1 || BMULTSEL != "AD" || PREADDINSEL != "B" || INMODE != 5'b00100)) $fatal(1, "B + D");
        if (ADREG != 0 || INMODEREG != 0 || OPMODEREG != 0 || ALUMODEREG != 0) $fatal(1, "control registers");
    end

    reg signed [29:0] held_a;
    reg signed [17:0] held_b;
    reg [47:0] held_c;
    reg signed [26:0] held_d;
    reg signed [44:0] m;
    wire signed [29:0] a = AREG == 1 ? held_a : A;
    wire signed [17:0] b = BREG == 1 ? held_b : B;
    wire [47:0] c = CREG == 1 ? held_c : C;
    wire signed [26:0] factor = a[26:0];
    wire signed [26:0] added = {{9{b[17]}}, b} + held_d;
    wire signed [17:0] by = added[17:0];
    wire [47:0] product = OPMODE[3:0] == 4'b0101 ? {{3{m[44]}}, m} : 48'd0;
    wire [47:0] x_and_y = OPMODE[3:0] == 4'b1111 ? {a, b} + c : product;
    reg [47:0] z;
    always @(*)
        case (OPMODE[6:4])
            3'b001: z = PCIN;
            3'b010: z = P;
            3'b011: z = c;
            default: z = 48'd0;
        endcase
    always @(posedge CLK) begin
        if (RSTA) held_a <= 30'd0; else if (CEA2) held_a <= A;
        if (RSTB) held_b <= 18'd0; else if (CEB2) held_b <= B;
        if (RSTC) held_c <= 48'd0; else if (CEC) held_c <= C;
        if (RSTD) held_d <= 27'd0; else if (CED) held_d <= D;
        if (RSTM) m <= 45'd0; else if (CEM) m <= factor * by;
        if (RSTP) P <= 48'd0; else if (CEP) P <= ALUMODE == 4'b0011 ? z - x_and_y : z + x_and_y;
    end
    assign PCOUT = P;
    assign {ACOUT, BCOUT, CARRYOUT, XOROUT} = 60'd0;
    assign {CARRYCASCOUT, MULTSIGNOUT, OVERFLOW, UNDERFLOW, PATTERNDETECT, PATTERNBDETECT} = 6'd0;
endmodule

// A table with two outputs (UG974): with I5 high, O6 has the upper half of the contents and O5 the lower one.
module LUT6_2 #(parameter [63:0] INIT = 64'd0) (
    output wire O6, O5,
    input wire I0, I1, I2, I3, I4, I5
);
    assign O6 = INIT[{I5, I4, I3, I2, I1, I0}];
    assign O5 = INIT[{1'b0, I4, I3, I2, I1, I0}];
endmodule

// 32 words of eight bits in tables (UG974): three ports read, the fourth one's address is written.
module RAM32M (
    input wire WCLK, WE,
    input wire [4:0] ADDRA, ADDRB, ADDRC, ADDRD,
    input wire [1:0] DIA, DIB, DIC, DID,
    output wire [1:0] DOA, DOB, DOC, DOD
);
    reg [7:0] words [0:31];
    always @(posedge WCLK) if (WE) words[ADDRD] <= {DID, DIC, DIB, DIA};
    wire [7:0] a = words[ADDRA], b = words[ADDRB], c = words[ADDRC], d = words[ADDRD];
    assign {DOD, DOC, DOB, DOA} = {d[7:6], c[5:4], b[3:2], a[1:0]};
endmodule
