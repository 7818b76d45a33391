// The loop counters of a stream: they stay within their counts, and step from one point of the nest to the next, innermost fastest.
module proof (
    input clock, input reset, input step, input fresh,
    input [16-1:0] count0, input [16-1:0] count1, input [16-1:0] count2, input [16-1:0] count3, input [16-1:0] count4, input [16-1:0] count5,
    input load, input [16-1:0] next0, input [16-1:0] next1, input [16-1:0] next2, input [16-1:0] next3, input [16-1:0] next4, input [16-1:0] next5
);
    wire [16-1:0] counter0, counter1, counter2, counter3, counter4, counter5;
    wire [0:5] first, last;
    wire wrap;
    loop_nest nest (
        .clock(clock), .reset(reset), .step(step), .fresh(fresh), .load(load), .wrap(wrap),
        .next_count0(next0), .count0(count0), .counters_counter0(counter0), .ends_first0(first[0]), .ends_last0(last[0]),
        .next_count1(next1), .count1(count1), .counters_counter1(counter1), .ends_first1(first[1]), .ends_last1(last[1]),
        .next_count2(next2), .count2(count2), .counters_counter2(counter2), .ends_first2(first[2]), .ends_last2(last[2]),
        .next_count3(next3), .count3(count3), .counters_counter3(counter3), .ends_first3(first[3]), .ends_last3(last[3]),
        .next_count4(next4), .count4(count4), .counters_counter4(counter4), .ends_first4(first[4]), .ends_last4(last[4]),
        .next_count5(next5), .count5(count5), .counters_counter5(counter5), .ends_first5(first[5]), .ends_last5(last[5])
    );

    // Registers of the loops: the next iteration is the last one; the instruction has one iteration of the loop, or two.
    (* hierconn *) wire \nest.level0.near ;
    (* hierconn *) wire \nest.level1.near ;
    (* hierconn *) wire \nest.level2.near ;
    (* hierconn *) wire \nest.level3.near ;
    (* hierconn *) wire \nest.level4.near ;
    (* hierconn *) wire \nest.level5.near ;
    wire [0:5] near = {\nest.level0.near , \nest.level1.near , \nest.level2.near , \nest.level3.near , \nest.level4.near , \nest.level5.near };
    (* hierconn *) wire \nest.level0.single ;
    (* hierconn *) wire \nest.level1.single ;
    (* hierconn *) wire \nest.level2.single ;
    (* hierconn *) wire \nest.level3.single ;
    (* hierconn *) wire \nest.level4.single ;
    (* hierconn *) wire \nest.level5.single ;
    wire [0:5] single = {\nest.level0.single , \nest.level1.single , \nest.level2.single , \nest.level3.single , \nest.level4.single , \nest.level5.single };
    (* hierconn *) wire \nest.level0.double ;
    (* hierconn *) wire \nest.level1.double ;
    (* hierconn *) wire \nest.level2.double ;
    (* hierconn *) wire \nest.level3.double ;
    (* hierconn *) wire \nest.level4.double ;
    (* hierconn *) wire \nest.level5.double ;
    wire [0:5] double = {\nest.level0.double , \nest.level1.double , \nest.level2.double , \nest.level3.double , \nest.level4.double , \nest.level5.double };

    reg begun = 0;
    always @(posedge clock) begun <= 1;
    always @(*) if (!begun) assume (reset);

    // Counts belong to an instruction: they change where the next one is taken, which happens only between beats of two. After the
    // reset, and after a last instruction, nothing is stepped before one is taken.
    reg [0:6*16-1] counts_before, counters_before, next_before;
    reg stepped, wrapped, was_reset, loaded, idle;
    wire [0:6*16-1] counts = {count0, count1, count2, count3, count4, count5};
    wire [0:6*16-1] counters = {counter0, counter1, counter2, counter3, counter4, counter5};
    always @(posedge clock) begin
        {counts_before, counters_before, next_before} <= {counts, counters, {next0, next1, next2, next3, next4, next5}};
        {stepped, wrapped, was_reset, loaded} <= {step, wrap, reset, load};
        idle <= !load && (reset || idle || step && wrap);
    end
    wire begins = was_reset || stepped && wrapped;
    always @(*) begin
        if (begun) assume (counts == (loaded ? next_before : counts_before));
        if (begun && idle) assume (!step && !reset);
        if (load) assume (!reset && (idle || step && wrap));
    end

    always @(*) if (begun && idle) assert (counters == 0);
    always @(*) if (begun && !idle) assert (wrap == (counters == counts));
    genvar n;
    generate
        for (n = 0; n < 6; n = n + 1) begin : loops
            wire [16-1:0] count = counts[16*n +: 16], counter = counters[16*n +: 16], old = counters_before[16*n +: 16];
            // What is inside a loop has ended: it goes on, or begins again.
            wire carries;
            if (n == 5) assign carries = stepped;
            else assign carries = stepped && counters_before[16*(n+1) : 6*16-1] == counts[16*(n+1) : 6*16-1];
            always @(*) if (begun) begin
                assert (first[n] == (counter == 0));
                if (!idle) begin
                    assert (counter <= count);
                    assert (last[n] == (counter == count));
                    assert (near[n] == (counter + 1 == count));
                    assert (single[n] == (count == 0));
                    assert (double[n] == (count == 1));
                end
                if (begins) assert (counter == 0);
                else assert (counter == (!carries ? old : old == count ? 16'd0 : old + 1'b1));
            end
        end
    endgenerate
endmodule
