// store_order: where the batches of an epoch begin, in the order that arch::store::order defines; ahead of the player by up to three batches.
//
//   number ──▶ network over its bits, a round per cycle ──▶ place, if there is such a batch ──▶ times rows of a batch, a bit per cycle ──▶ row
//                 ▲ key        └───────── otherwise once more ◀─────────┘
module store_order #(
    parameter ADDRESS = 8            // bits of a row's number
) (
    input  wire               clock,
    input  wire               restart,       // with the first epoch
    input  wire [23:0]        records,
    input  wire [31:0]        key,
    input  wire [ADDRESS-1:0] batch_rows,
    input  wire               take,
    output reg                there,
    output reg  [ADDRESS-1:0] row
);
//CONSTANTS
    // Bits that the number of a batch may have, found one after the other.
    reg [23:0] last, mask;
    reg masked;

    reg [23:0] number, place;
    reg [2:0] round;
    reg [31:0] key_of_epoch, key_of_round;
    wire [31:0] next_key = key_of_epoch + KEY_STEP;
    wire in_range = place <= last;
    wire found = masked && round == ROUNDS && in_range;

    // An even round changes the even bits by the odd ones, an odd round the other way round.
    wire [11:0] half, sum, mixed;
    wire [23:0] change;
    genvar n;
    generate
        for (n = 0; n < 12; n = n + 1) begin : bits
            assign half[n] = round[0] ? place[2*n] : place[2*n+1];
            assign change[2*n +: 2] = round[0] ? {mixed[n], 1'b0} : {1'b0, mixed[n]};
        end
    endgenerate
    assign sum = half + {half[7:0], 4'd0} + key_of_round[11:0];
    assign mixed = sum ^ (sum >> 3) ^ (sum >> 6);

    reg busy;                        // a product is made, or waits
    reg [23:0] factor;
    reg [ADDRESS-1:0] product, addend;
    wire give = busy && factor == 24'd0 && (!there || take);
    wire accept = found && (!busy || give);

    always @(posedge clock) begin
        if (!masked) begin
            if (|(last & ~mask)) mask <= {mask[22:0], 1'b1};
            else masked <= 1'b1;
        end else if (round != ROUNDS) begin
            place <= place ^ (change & mask);
            key_of_round <= {key_of_round[KEY_ROTATION-1:0], key_of_round[31:KEY_ROTATION]};
            round <= round + 3'd1;
        end else if (!in_range) begin
            key_of_round <= key_of_epoch;
            round <= 3'd0;
        end else if (accept) begin
            number <= number == last ? 24'd0 : number + 24'd1;
            place <= number == last ? 24'd0 : number + 24'd1;
            key_of_epoch <= number == last ? next_key : key_of_epoch;
            key_of_round <= number == last ? next_key : key_of_epoch;
            round <= 3'd0;
        end
        if (factor[0]) product <= product + addend;
        addend <= addend << 1;
        factor <= factor >> 1;
        if (give) busy <= 1'b0;
        if (accept) begin
            busy <= 1'b1;
            factor <= place;
            product <= {ADDRESS{1'b0}};
            addend <= batch_rows;
        end
        if (take) there <= 1'b0;
        if (give) begin
            there <= 1'b1;
            row <= product;
        end
        if (restart) begin
            last <= records - 24'd1;
            mask <= 24'd0;
            masked <= 1'b0;
            number <= 24'd0;
            place <= 24'd0;
            round <= 3'd0;
            key_of_epoch <= key;
            key_of_round <= key;
            busy <= 1'b0;
            there <= 1'b0;
        end
    end
endmodule
