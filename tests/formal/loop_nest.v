// The loop counters of a stream: they stay within their counts, and step from one point of the nest to the next, innermost fastest.
module proof (
    input clock, input reset, input step, input fresh,
    input [`BITS-1:0] count0, input [`BITS-1:0] count1, input [`BITS-1:0] count2, input [`BITS-1:0] count3
);
    wire [`BITS-1:0] counter0, counter1, counter2, counter3;
    wire first0, first1, first2, first3, last0, last1, last2, last3, wrap;
    loop_nest nest (
        .clock(clock), .reset(reset), .step(step), .fresh(fresh),
        .count0(count0), .count1(count1), .count2(count2), .count3(count3),
        .counters$counter0(counter0), .counters$counter1(counter1), .counters$counter2(counter2), .counters$counter3(counter3),
        .ends$first0(first0), .ends$first1(first1), .ends$first2(first2), .ends$first3(first3),
        .ends$last0(last0), .ends$last1(last1), .ends$last2(last2), .ends$last3(last3), .wrap(wrap)
    );

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    always @(*) if (!begun) assume (reset);

    // Counts belong to an instruction: they change only where one begins.
    reg [4*`BITS-1:0] counts_before, counters_before;
    reg stepped, wrapped, was_reset;
    wire [4*`BITS-1:0] counts = {count0, count1, count2, count3}, counters = {counter0, counter1, counter2, counter3};
    always @(posedge clock) begin
        {counts_before, counters_before} <= {counts, counters};
        {stepped, wrapped, was_reset} <= {step, wrap, reset};
    end
    wire begins = was_reset || stepped && wrapped;
    always @(*) if (begun && !begins) assume (counts == counts_before);

    wire [`BITS-1:0] old0 = counters_before[3*`BITS +: `BITS], old1 = counters_before[2*`BITS +: `BITS];
    wire [`BITS-1:0] old2 = counters_before[`BITS +: `BITS], old3 = counters_before[0 +: `BITS];
    always @(*) if (begun) begin
        assert (counter0 <= count0 && counter1 <= count1 && counter2 <= count2 && counter3 <= count3);
        assert ({first0, first1, first2, first3} == {counter0 == 0, counter1 == 0, counter2 == 0, counter3 == 0});
        assert ({last0, last1, last2, last3} == {counter0 == count0, counter1 == count1, counter2 == count2, counter3 == count3});
        assert (wrap == (counters == counts));
        if (begins) assert (counters == 0);
        else if (!stepped) assert (counters == counters_before);
        else if (old3 != count3) assert (counters == {old0, old1, old2, old3 + 1'b1});
        else if (old2 != count2) assert (counter3 == 0 && {counter0, counter1} == {old0, old1} && counter2 == old2 + 1'b1);
        else if (old1 != count1) assert (counter3 == 0 && counter2 == 0 && counter0 == old0 && counter1 == old1 + 1'b1);
        else assert (counter3 == 0 && counter2 == 0 && counter1 == 0 && counter0 == old0 + 1'b1);
    end
endmodule
