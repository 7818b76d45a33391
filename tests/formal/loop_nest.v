// The loop counters of a stream: they stay within their counts, and step from one point of the nest to the next, innermost fastest.
module proof (
    input clock, input reset, input step, input fresh,
    input [16-1:0] count0, input [16-1:0] count1, input [16-1:0] count2, input [16-1:0] count3,
    input load, input [16-1:0] next0, input [16-1:0] next1, input [16-1:0] next2, input [16-1:0] next3
);
    wire [16-1:0] counter0, counter1, counter2, counter3;
    wire first0, first1, first2, first3, last0, last1, last2, last3, wrap;
    loop_nest nest (
        .clock(clock), .reset(reset), .step(step), .fresh(fresh),
        .load(load), .next_count0(next0), .next_count1(next1), .next_count2(next2), .next_count3(next3),
        .count0(count0), .count1(count1), .count2(count2), .count3(count3),
        .counters_counter0(counter0), .counters_counter1(counter1), .counters_counter2(counter2), .counters_counter3(counter3),
        .ends_first0(first0), .ends_first1(first1), .ends_first2(first2), .ends_first3(first3),
        .ends_last0(last0), .ends_last1(last1), .ends_last2(last2), .ends_last3(last3), .wrap(wrap)
    );

    // Registers of the loops: the next iteration is the last one; the instruction has one iteration of the loop, or two.
    (* hierconn *) wire \nest.level0.near ;
    (* hierconn *) wire \nest.level1.near ;
    (* hierconn *) wire \nest.level2.near ;
    (* hierconn *) wire \nest.level3.near ;
    wire [3:0] near = {\nest.level0.near , \nest.level1.near , \nest.level2.near , \nest.level3.near };
    (* hierconn *) wire \nest.level0.single ;
    (* hierconn *) wire \nest.level1.single ;
    (* hierconn *) wire \nest.level2.single ;
    (* hierconn *) wire \nest.level3.single ;
    wire [3:0] single = {\nest.level0.single , \nest.level1.single , \nest.level2.single , \nest.level3.single };
    (* hierconn *) wire \nest.level0.double ;
    (* hierconn *) wire \nest.level1.double ;
    (* hierconn *) wire \nest.level2.double ;
    (* hierconn *) wire \nest.level3.double ;
    wire [3:0] double = {\nest.level0.double , \nest.level1.double , \nest.level2.double , \nest.level3.double };

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    always @(*) if (!begun) assume (reset);

    // Counts belong to an instruction: they change where the next one is taken, which happens only between beats of two. After the
    // reset, and after a last instruction, nothing is stepped before one is taken.
    reg [4*16-1:0] counts_before, counters_before, next_before;
    reg stepped, wrapped, was_reset, loaded, idle;
    wire [4*16-1:0] counts = {count0, count1, count2, count3}, counters = {counter0, counter1, counter2, counter3};
    always @(posedge clock) begin
        {counts_before, counters_before, next_before} <= {counts, counters, {next0, next1, next2, next3}};
        {stepped, wrapped, was_reset, loaded} <= {step, wrap, reset, load};
        idle <= !load && (reset || idle || step && wrap);
    end
    wire begins = was_reset || stepped && wrapped;
    always @(*) begin
        if (begun) assume (counts == (loaded ? next_before : counts_before));
        if (begun && idle) assume (!step && !reset);
        if (load) assume (!reset && (idle || step && wrap));
    end

    wire [16-1:0] old0 = counters_before[3*16 +: 16], old1 = counters_before[2*16 +: 16];
    wire [16-1:0] old2 = counters_before[16 +: 16], old3 = counters_before[0 +: 16];
    always @(*) if (begun) begin
        if (!idle) assert (counter0 <= count0 && counter1 <= count1 && counter2 <= count2 && counter3 <= count3);
        assert ({first0, first1, first2, first3} == {counter0 == 0, counter1 == 0, counter2 == 0, counter3 == 0});
        if (idle) assert (counters == 0);
        if (!idle) begin
            assert ({last0, last1, last2, last3} == {counter0 == count0, counter1 == count1, counter2 == count2, counter3 == count3});
            assert (wrap == (counters == counts));
            assert (near == {counter0 + 1 == count0, counter1 + 1 == count1, counter2 + 1 == count2, counter3 + 1 == count3});
            assert (single == {count0 == 0, count1 == 0, count2 == 0, count3 == 0});
            assert (double == {count0 == 1, count1 == 1, count2 == 1, count3 == 1});
        end
        if (begins) assert (counters == 0);
        else if (!stepped) assert (counters == counters_before);
        else if (old3 != count3) assert (counters == {old0, old1, old2, old3 + 1'b1});
        else if (old2 != count2) assert (counter3 == 0 && {counter0, counter1} == {old0, old1} && counter2 == old2 + 1'b1);
        else if (old1 != count1) assert (counter3 == 0 && counter2 == 0 && counter0 == old0 && counter1 == old1 + 1'b1);
        else assert (counter3 == 0 && counter2 == 0 && counter1 == 0 && counter0 == old0 + 1'b1);
    end
endmodule
