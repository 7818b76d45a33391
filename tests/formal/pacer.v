// When the beats of a stream are issued, against its rules: a delay before the first beat of an instruction, an interval between beats, and
// the next instruction in the cycle after the last beat.
module proof (
    input clock, input reset, input start, input may_start, input [1:0] entry, input is_end, input next_is_end, input [23:0] next_delay,
    input [15:0] interval, input wrap, input wrap_stepped, input wrap_loaded, input hold
);
    wire read, load, issue, fresh, busy;
    wire [1:0] read_index;
    pacer control (
        .clock(clock), .reset(reset), .start(start), .may_start(may_start), .entry(entry), .is_end(is_end), .next_is_end(next_is_end),
        .next_delay(next_delay), .interval(interval), .wrap(wrap), .wrap_stepped(wrap_stepped), .wrap_loaded(wrap_loaded), .hold(hold),
        .read(read), .read_index(read_index), .load(load), .issue(issue), .fresh(fresh), .busy(busy)
    );

    // A reset lasts two cycles; in the second one the entry is fetched.
    reg begun = 0, ready = 0;
    always @(posedge clock) {ready, begun} <= {begun, 1'b1};
    always @(*) begin
        if (!ready) assume (reset && !may_start);
        if (start) assume (may_start);
        if (reset) assume (!start);
    end

    // What the loops and the program show follows from what was announced; an instruction keeps its interval.
    reg expected_wrap, expected_end, loaded;
    reg [15:0] interval_before;
    always @(posedge clock) begin
        expected_wrap <= load ? wrap_loaded : issue ? wrap_stepped : wrap;
        expected_end <= load ? next_is_end : is_end;
        {loaded, interval_before} <= {load, interval};
    end
    always @(*) if (begun) begin
        assume (wrap == expected_wrap && is_end == expected_end);
        if (!loaded) assume (interval == interval_before);
    end

    reg active, first;
    reg [23:0] left;
    reg [1:0] following;
    wire beat = active && left == 0 && !hold, ends = beat && wrap;
    wire idle = (!active || is_end) && !may_start;
    wire [1:0] index = next_is_end || idle ? entry : following;
    always @(posedge clock) begin
        active <= !reset && (start || active && !(ends && is_end));
        left <= load ? next_delay : beat ? interval : left == 0 ? left : left - 1;
        first <= !reset && (start || (beat ? wrap : first));
        if (read) following <= index + 1;
    end
    always @(*) if (begun) begin
        assert (busy == active);
        assert (issue == beat);
        assert (load == (start || ends && !is_end));
        assert (read == (load || idle));
        if (beat) assert (fresh == first);
        if (ready && read) assert (read_index == index);
    end
endmodule
