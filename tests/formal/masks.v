// Masks of a grid of 3 x 5 PEs, as docs/machine.md section 2 defines them: what the sequencer makes of an instruction, and what row heads
// and column heads make of that, admits exactly the PEs of the definition.
module proof (
    input [5:0] first, input [5:0] last,
    input [15:0] counter0, input [15:0] counter1, input [15:0] counter2, input [15:0] counter3, input [15:0] counter4, input [15:0] counter5,
    input flat, input [1:0] row_low, input [2:0] column_low, input [1:0] row_high, input [2:0] column_high,
    input [2:0] row_level, input [2:0] column_level, input [2:0] pick_row, input [2:0] pick_column
);
    localparam ROWS = 3, COLUMNS = 5;

    wire beat_flat, beat_pick_row, beat_pick_column;
    wire [1:0] beat_row_low, beat_row_high;
    wire [2:0] beat_column_low, beat_column_high;
    // Counters as numbers of places: there are 15 groups of a PE each.
    wire [3:0] place0, place1, place2, place3, place4, place5, beat_picked_row, beat_picked_column;
    places narrow (
        .loops_counter0(counter0), .loops_counter1(counter1), .loops_counter2(counter2),
        .loops_counter3(counter3), .loops_counter4(counter4), .loops_counter5(counter5),
        .counters_counter0(place0), .counters_counter1(place1), .counters_counter2(place2),
        .counters_counter3(place3), .counters_counter4(place4), .counters_counter5(place5)
    );
    mask_unit unit (
        .ends_first0(first[0]), .ends_first1(first[1]), .ends_first2(first[2]),
        .ends_first3(first[3]), .ends_first4(first[4]), .ends_first5(first[5]),
        .ends_last0(last[0]), .ends_last1(last[1]), .ends_last2(last[2]), .ends_last3(last[3]), .ends_last4(last[4]), .ends_last5(last[5]),
        .counters_counter0(place0), .counters_counter1(place1), .counters_counter2(place2),
        .counters_counter3(place3), .counters_counter4(place4), .counters_counter5(place5),
        .flat(flat), .row_low(row_low), .column_low(column_low), .row_high(row_high), .column_high(column_high),
        .row_level(row_level), .column_level(column_level), .pick_row(pick_row), .pick_column(pick_column),
        .beat_flat(beat_flat), .beat_pick_row(beat_pick_row), .beat_pick_column(beat_pick_column),
        .beat_row_low(beat_row_low), .beat_column_low(beat_column_low), .beat_row_high(beat_row_high),
        .beat_column_high(beat_column_high), .beat_picked_row(beat_picked_row), .beat_picked_column(beat_picked_column)
    );
    wire [COLUMNS-1:0] above, below, chosen;
    column_heads heads (
        .low(beat_column_low), .high(beat_column_high), .pick(beat_pick_column), .picked(beat_picked_column),
        .above(above), .below(below), .chosen(chosen)
    );

    // The definition. Level 6 is "always", pick 6 "none".
    wire [6:0] starts = {1'b1, first}, ends = {1'b1, last};
    wire row_starts = starts[row_level], row_ends = ends[row_level];
    wire column_starts = flat ? row_starts : starts[column_level], column_ends = flat ? row_ends : ends[column_level];
    wire [1:0] low_row = row_starts ? row_low : 0, high_row = row_ends ? row_high : ROWS;
    wire [2:0] low_column = column_starts ? column_low : 0, high_column = column_ends ? column_high : flat ? 0 : COLUMNS;
    wire [111:0] counters = {16'd0, counter5, counter4, counter3, counter2, counter1, counter0};
    wire [15:0] row_counter = counters[16*pick_row +: 16], column_counter = counters[16*pick_column +: 16];
    always @(*) assume (row_level <= 6 && column_level <= 6 && pick_row <= 6 && pick_column <= 6);
    always @(*) assume (row_low <= ROWS && row_high <= ROWS && column_low <= COLUMNS && column_high <= COLUMNS);

    genvar r, c;
    generate
        for (r = 0; r < ROWS; r = r + 1) begin : rows
            wire [COLUMNS-1:0] mask;
            row_mask head (
                .row(r[1:0]), .row_counter(r[3:0]), .flat(beat_flat), .low(beat_row_low), .high(beat_row_high), .pick(beat_pick_row),
                .picked(beat_picked_row), .above(above), .below(below), .chosen(chosen), .mask(mask)
            );
            for (c = 0; c < COLUMNS; c = c + 1) begin : columns
                wire in_box = low_row <= r && r < high_row && low_column <= c && c < high_column;
                wire after_low = r > low_row || r == low_row && c >= low_column;
                wire before_high = r < high_row || r == high_row && c < high_column;
                wire picked = (pick_row == 6 || r == row_counter) && (pick_column == 6 || c == column_counter);
                always @(*) assert (mask[c] == ((flat ? after_low && before_high : in_box) && picked));
            end
        end
    endgenerate
endmodule
