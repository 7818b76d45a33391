    wire permutes = data_written[2:0] == {1'b0, PERMUTED};
    wire [1:0] mode_written = permutes || stream_written ? PLAY : data_written[2] ? PASS : data_written[1:0];
    reg [31:0] key;
    reg [ADDRESS-1:0] batch_rows;
    always @(posedge clock) begin
        if (write && written == KEY[15:0]) key <= data_written;
        if (write && written == BATCH_ROWS[15:0]) batch_rows <= data_written[ADDRESS-1:0];
    end
    wire place_there, place_taken;
    wire [ADDRESS-1:0] place;
    store_order #(.ADDRESS(ADDRESS)) order (
        .clock(clock), .restart(begins), .records(records), .key(key), .batch_rows(batch_rows),
        .take(place_taken), .there(place_there), .row(place)
    );
