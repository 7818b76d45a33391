// One lane: a word from memory times an operand, added up.
module lane (
    input clock,
    input write,
    input [9:0] write_address,
    input [15:0] write_data,
    input [9:0] read_address,
    input signed [15:0] operand,
    output signed [35:0] sum
);
    reg signed [15:0] memory [0:1023];
    reg signed [15:0] word;
    reg signed [15:0] factor;
    reg signed [31:0] product;
    reg signed [35:0] total;
    always @(posedge clock) begin
        if (write) memory[write_address] <= write_data;
        word <= memory[read_address];
        factor <= operand;
        product <= word * factor;
        total <= total + {{4{product[31]}}, product};
    end
    assign sum = total;
endmodule
