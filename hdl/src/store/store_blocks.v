    store_rows #(.BITS(LANES*WORD), .ROWS(ROWS), .ADDRESS(ADDRESS)) memory (
        .clock(clock), .write(fill || stream), .row(row_used), .data(in_data), .value(row_value)
    );
    // A row is there two cycles after it was asked for: beats go to the queue at once.
    assign {may_write, may, go, go_lane, go_shape} = {1'b1, may_go, issue, lane, shape};
    assign drained = queue_drained;
    assign {lost, status, wrong} = {1'b0, READY, 32'd0};
