// store_player: which words of which row are the next beat.
//
//   pattern ──▶ beats left, words of a beat ──▶ lane ──▶ row ──▶ batches left ──▶ epochs left
module store_player #(
    parameter LANES = 1,             // words of a row
    parameter ROWS = 256,
    parameter ADDRESS = 8            // bits of a row's number, and one more
) (
    input  wire               clock,
    input  wire               restart,       // to the first row of the first batch
    input  wire               filled,        // a row has been written: go on to the next
    input  wire               playing,
    input  wire               may,           // there is room for a beat
    input  wire               stop,          // the present epoch is the last one
    input  wire               circular,      // behind the last row comes the first one, however many a batch has
    input  wire [23:0]        records,
    input  wire [23:0]        epochs,
    input  wire               pattern_write,
    input  wire [5:0]         pattern_entry,
    input  wire [20:0]        pattern_data,
    input  wire               permute,       // with `restart`: batches begin where they are told, otherwise one behind the other
    input  wire [ADDRESS-1:0] place,         // of the next batch
    input  wire               place_there,
    output wire               place_taken,
    output wire               issue,         // a beat begins its way
    output wire               ended,         // it is the last one
    output wire               played,        // it is the last one of its row
    output reg  [ADDRESS-1:0] row,
    output reg  [6:0]         lane,          // where in the row it begins
    output reg  [3:0]         shape,         // it has 2^shape[2:0] words; shape[3]: they are repeated in the other lanes
    output reg  [23:0]        records_left,
    output reg  [23:0]        epochs_left
);
    localparam [7:0] ROW_WORDS = LANES[7:0];
    localparam [ADDRESS-1:0] LAST_ROW = ROWS[ADDRESS-1:0] - 1'b1;

    // {last entry, shape, beats}
    reg [20:0] pattern [0:63];
    reg [20:0] fetched;
    reg [5:0] entry;
    reg there;                       // `fetched` is the entry
    reg permuted, placed;            // `row` is that of the batch
    always @(posedge clock) begin
        if (pattern_write) pattern[pattern_entry] <= pattern_data;
        fetched <= pattern[entry];
    end

    reg some, final_beat, final_entry;       // of the current entry: beats are left, one is left; it is the last entry
    reg [15:0] beats_left;
    assign issue = playing && some && placed && may;
    wire take = playing && there && (!some || issue && final_beat);

    reg final_in_row;                // no other beat of this width fits into the row
    reg [7:0] left_in_row;           // beats, unless it is the final one
    wire [7:0] fit = ROW_WORDS >> shape[2:0];
    wire [7:0] fit_fetched = ROW_WORDS >> fetched[18:16];
    wire row_ends = final_beat || final_in_row;
    wire record_ends = final_beat && final_entry;
    reg final_record, final_epoch;
    wire epoch_ends = record_ends && final_record;
    assign ended = issue && epoch_ends && final_epoch;
    assign played = issue && row_ends;
    wire rows_end = circular ? row == LAST_ROW : epoch_ends;
    wire place_wanted = permuted && (!placed || issue && record_ends);
    assign place_taken = playing && place_wanted && place_there;

    always @(posedge clock) begin
        there <= !take;
        if (issue) begin
            beats_left <= beats_left - 16'd1;
            final_beat <= beats_left == 16'd2;
            some <= !final_beat;
            lane <= row_ends ? 7'd0 : lane + (7'd1 << shape[2:0]);
            left_in_row <= row_ends ? fit : left_in_row - 8'd1;
            final_in_row <= (row_ends ? fit : left_in_row - 8'd1) <= 8'd1;
            if (row_ends) row <= rows_end ? {ADDRESS{1'b0}} : row + 1'b1;
            if (record_ends) begin
                records_left <= final_record ? records : records_left - 24'd1;
                final_record <= (final_record ? records : records_left - 24'd1) == 24'd1;
            end
            if (epoch_ends) begin
                epochs_left <= epochs_left - 24'd1;
                final_epoch <= epochs_left == 24'd2;
            end
        end
        if (take) begin
            {final_entry, shape, beats_left} <= fetched;
            final_beat <= fetched[15:0] == 16'd1;
            left_in_row <= fit_fetched;
            final_in_row <= fit_fetched <= 8'd1;
            some <= 1'b1;
            entry <= fetched[20] ? 6'd0 : entry + 6'd1;
        end
        if (playing && place_wanted) begin
            row <= place;
            placed <= place_there;
        end
        if (stop) final_epoch <= 1'b1;
        if (filled) row <= row + 1'b1;
        if (restart) begin
            row <= {ADDRESS{1'b0}};
            permuted <= permute;
            placed <= !permute;
            lane <= 7'd0;
            entry <= 6'd0;
            there <= 1'b0;
            some <= 1'b0;
            records_left <= records;
            final_record <= records == 24'd1;
            epochs_left <= epochs;
            final_epoch <= epochs == 24'd1;
        end
    end
endmodule
