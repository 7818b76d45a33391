// store_queue: words of rows to beats, and the beats that wait for the grid.
//
//   cycle  0: issue   1: the row is read   2: held in its bank   3: held here   4: its words are in place   5: the beat is offered
module store_queue #(
    parameter WORD = 16,
    parameter LANES = 1
) (
    input  wire                  clock,
    input  wire                  flush,
    input  wire                  issue,
    input  wire [6:0]            lane,       // with `issue`: where in the row the beat begins
    input  wire [2:0]            width,      // it has 2^width words
    input  wire [LANES*WORD-1:0] value,      // the row, two cycles later
    output wire                  may,        // there is room for a beat
    output wire                  drained,    // no beat is on its way
    output wire [LANES*WORD-1:0] data,
    output wire                  valid,
    input  wire                  taken
);
    reg [3:0] stages;                // of the beats on their way to the queue
    reg [6:0] lane_read, lane_found, lane_held;
    reg [2:0] width_read, width_found, width_held;
    reg [LANES*WORD-1:0] held, beat, placed;

    // A beat of 2^width words begins at a multiple of that, so bit `level` of its lane is set only if it has no more than 2^level.
    integer level, to;
    always @(*) begin
        placed = held;
        for (level = 6; level >= 0; level = level - 1)
            for (to = 0; to < (1 << level) && to + (1 << level) < LANES; to = to + 1)
                if (lane_held[level]) placed[WORD*to +: WORD] = placed[WORD*(to + (1 << level)) +: WORD];
        for (to = 0; to < LANES; to = to + 1)
            if ((to >> width_held) != 0) placed[WORD*to +: WORD] = {WORD{1'b0}};
    end

    reg [LANES*WORD-1:0] beats [0:7];
    reg [2:0] first, behind;
    reg [3:0] waiting, credits;
    assign may = credits != 4'd0;
    assign drained = credits[3];
    assign valid = waiting != 4'd0;
    assign data = beats[first];
    always @(posedge clock) begin
        if (stages[3]) beats[behind] <= beat;
        lane_read <= lane;
        width_read <= width;
        lane_found <= lane_read;
        width_found <= width_read;
        lane_held <= lane_found;
        width_held <= width_found;
        held <= value;
        beat <= placed;
    end

    always @(posedge clock) begin
        stages <= {stages[2:0], issue};
        if (stages[3]) behind <= behind + 3'd1;
        if (taken) first <= first + 3'd1;
        waiting <= waiting + {3'd0, stages[3]} - {3'd0, taken};
        credits <= credits + {3'd0, taken} - {3'd0, issue};
        if (flush) begin
            stages <= 4'd0;
            behind <= 3'd0;
            first <= 3'd0;
            waiting <= 4'd0;
            credits <= 4'd8;
        end
    end
endmodule
