// store_queue: words of rows to beats, and the beats that wait for the grid.
//
//   cycle  0: issue   1: the row is read   2: held in its bank   3: held here   4: its words are at lane 0   5: in all their lanes   6: the beat is offered
module store_queue #(
    parameter WORD = 16,
    parameter LANES = 1
) (
    input  wire                  clock,
    input  wire                  flush,
    input  wire                  issue,
    input  wire [6:0]            lane,       // with `issue`: where in the row the beat begins
    input  wire [3:0]            shape,      // it has 2^shape[2:0] words; shape[3]: they are repeated in the other lanes
    input  wire [LANES*WORD-1:0] value,      // the row, two cycles later
    output wire                  may,        // there is room for a beat
    output wire                  drained,    // no beat is on its way
    output wire [LANES*WORD-1:0] data,
    output wire                  valid,
    input  wire                  taken
);
    reg [4:0] stages;                // of the beats on their way to the queue
    reg [6:0] lane_read, lane_found, lane_held;
    reg [3:0] shape_read, shape_found, shape_held, shape_placed;
    reg [LANES*WORD-1:0] held, moved, placed, spread, beat;

    // A beat of 2^n words begins at a multiple of that, so bit `level` of its lane is set only if it has no more than 2^level.
    integer level, to;
    always @(*) begin
        moved = held;
        for (level = 6; level >= 0; level = level - 1)
            for (to = 0; to < (1 << level) && to + (1 << level) < LANES; to = to + 1)
                if (lane_held[level]) moved[WORD*to +: WORD] = moved[WORD*(to + (1 << level)) +: WORD];
    end

    // Lane `to` has the word of lane `to` modulo 2^n; where they are not repeated, lanes beyond them have 0.
    integer lane_to, words;
    always @(*) begin
        spread = placed;
        for (lane_to = 0; lane_to < LANES; lane_to = lane_to + 1)
            for (words = 6; words >= 0; words = words - 1)
                if (shape_placed[2:0] == words[2:0] && (lane_to >> words) != 0)
                    spread[WORD*lane_to +: WORD] = shape_placed[3] ? placed[WORD*(lane_to % (1 << words)) +: WORD] : {WORD{1'b0}};
    end

    reg [LANES*WORD-1:0] beats [0:7];
    reg [2:0] first, behind;
    reg [3:0] waiting, credits;
    assign may = credits != 4'd0;
    assign drained = credits[3];
    assign valid = waiting != 4'd0;
    assign data = beats[first];
    always @(posedge clock) begin
        if (stages[4]) beats[behind] <= beat;
        lane_read <= lane;
        shape_read <= shape;
        lane_found <= lane_read;
        shape_found <= shape_read;
        lane_held <= lane_found;
        shape_held <= shape_found;
        shape_placed <= shape_held;
        held <= value;
        placed <= moved;
        beat <= spread;
    end

    always @(posedge clock) begin
        stages <= {stages[3:0], issue};
        if (stages[4]) behind <= behind + 3'd1;
        if (taken) first <= first + 3'd1;
        waiting <= waiting + {3'd0, stages[4]} - {3'd0, taken};
        credits <= credits + {3'd0, taken} - {3'd0, issue};
        if (flush) begin
            stages <= 5'd0;
            behind <= 3'd0;
            first <= 3'd0;
            waiting <= 4'd0;
            credits <= 4'd8;
        end
    end
endmodule
