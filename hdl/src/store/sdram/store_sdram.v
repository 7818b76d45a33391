    wire row_begins = issue && lane == 7'd0;
    wire room, may_ask, available, take, ahead_empty;
    sdram_memory #(.BITS(LANES*WORD), .ROW(ADDRESS)) memory (
        .clock(clock), .power_on(power_on), .flush(halt), .row(row_used), .write(fill || stream), .may_write(may_write), .data(in_data),
        .ask(row_begins), .may_ask(may_ask), .available(available), .take(take), .value(row_value), .status(status), .wrong(wrong),
//CONNECTED
    );
    store_ahead ahead (
        .clock(clock), .flush(halt), .issue(issue), .lane(lane), .shape(shape), .may(room), .empty(ahead_empty),
        .available(available), .may_go(may_go), .go(go), .take(take), .go_lane(go_lane), .go_shape(go_shape)
    );
    assign may = room && may_ask;
    assign drained = queue_drained && ahead_empty;
    assign lost = power_on;
