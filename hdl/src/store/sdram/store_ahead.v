// store_ahead: beats that wait for their rows. The player goes ahead by as many as there is room for, and their rows are asked for.
module store_ahead (
    input  wire       clock,
    input  wire       flush,
    input  wire       issue,         // by the player
    input  wire [6:0] lane,
    input  wire [3:0] shape,
    output wire       may,           // there is room
    output wire       empty,
    input  wire       available,     // the next row is there
    input  wire       may_go,        // the queue has room
    output wire       go,
    output wire       take,          // it begins a row
    output wire [6:0] go_lane,
    output wire [3:0] go_shape
);
    // A beat at lane 0 begins a row.
    reg [10:0] beats [0:63];
    reg [5:0] first, behind;
    reg [6:0] waiting;
    reg there;                       // the next beat is in the registers
    reg head_begins;
    reg [10:0] head;
    wire [10:0] next = beats[first];
    wire fetch = waiting != 7'd0 && (!there || go);
    assign may = !waiting[6];
    assign empty = !there && waiting == 7'd0;
    assign go = there && may_go && (!head_begins || available);
    assign take = go && head_begins;
    assign {go_lane, go_shape} = head;
    always @(posedge clock) begin
        if (issue) beats[behind] <= {lane, shape};
        if (issue) behind <= behind + 6'd1;
        if (fetch) begin
            head <= next;
            head_begins <= next[10:4] == 7'd0;
            first <= first + 6'd1;
        end
        there <= fetch || there && !go;
        waiting <= waiting + {6'd0, issue} - {6'd0, fetch};
        if (flush) begin
            first <= 6'd0;
            behind <= 6'd0;
            waiting <= 7'd0;
            there <= 1'b0;
        end
    end
endmodule
