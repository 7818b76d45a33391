// Two cores in one design: `second` chooses which of them the buses talk to.
module pair (
    input  wire         s_axi_aclk,
    input  wire         s_axi_aresetn,
    input  wire         second,
    input  wire [22:0]  s_axi_awaddr,
    input  wire         s_axi_awvalid,
    output wire         s_axi_awready,
    input  wire [31:0]  s_axi_wdata,
    input  wire         s_axi_wvalid,
    output wire         s_axi_wready,
    output wire         s_axi_bvalid,
    input  wire         s_axi_bready,
    input  wire [22:0]  s_axi_araddr,
    input  wire         s_axi_arvalid,
    output wire         s_axi_arready,
    output wire [31:0]  s_axi_rdata,
    output wire         s_axi_rvalid,
    input  wire         s_axi_rready,
    input  wire [31:0]  s_axis_tdata,
    input  wire         s_axis_tvalid,
    output wire         s_axis_tready,
    output wire [15:0]  m_axis_tdata,
    output wire         m_axis_tvalid,
    input  wire         m_axis_tready
);
    wire [1:0] awready, wready, bvalid, arready, rvalid, in_ready, out_valid;
    wire [63:0] rdata;
    wire [31:0] out_data;
    assign s_axi_awready = awready[second];
    assign s_axi_wready = wready[second];
    assign s_axi_bvalid = bvalid[second];
    assign s_axi_arready = arready[second];
    assign s_axi_rvalid = rvalid[second];
    assign s_axi_rdata = rdata[32*second +: 32];
    assign s_axis_tready = in_ready[second];
    assign m_axis_tvalid = out_valid[second];
    assign m_axis_tdata = out_data[16*second +: 16];
    logistic_axi core_0 (
        .s_axi_aclk(s_axi_aclk), .s_axi_aresetn(s_axi_aresetn),
        .s_axi_awaddr(s_axi_awaddr), .s_axi_awprot(3'd0), .s_axi_awvalid(s_axi_awvalid && !second), .s_axi_awready(awready[0]),
        .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(4'd15), .s_axi_wvalid(s_axi_wvalid && !second), .s_axi_wready(wready[0]),
        .s_axi_bresp(), .s_axi_bvalid(bvalid[0]), .s_axi_bready(s_axi_bready && !second),
        .s_axi_araddr(s_axi_araddr), .s_axi_arprot(3'd0), .s_axi_arvalid(s_axi_arvalid && !second), .s_axi_arready(arready[0]),
        .s_axi_rdata(rdata[0 +: 32]), .s_axi_rresp(), .s_axi_rvalid(rvalid[0]), .s_axi_rready(s_axi_rready && !second),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(4'hf), .s_axis_tlast(1'b0), .s_axis_tvalid(s_axis_tvalid && !second),
        .s_axis_tready(in_ready[0]), .m_axis_tdata(out_data[0 +: 16]), .m_axis_tkeep(), .m_axis_tlast(),
        .m_axis_tvalid(out_valid[0]), .m_axis_tready(m_axis_tready && !second), .run_done()
    );
    wine_axi core_1 (
        .s_axi_aclk(s_axi_aclk), .s_axi_aresetn(s_axi_aresetn),
        .s_axi_awaddr(s_axi_awaddr), .s_axi_awprot(3'd0), .s_axi_awvalid(s_axi_awvalid && second), .s_axi_awready(awready[1]),
        .s_axi_wdata(s_axi_wdata), .s_axi_wstrb(4'd15), .s_axi_wvalid(s_axi_wvalid && second), .s_axi_wready(wready[1]),
        .s_axi_bresp(), .s_axi_bvalid(bvalid[1]), .s_axi_bready(s_axi_bready && second),
        .s_axi_araddr(s_axi_araddr), .s_axi_arprot(3'd0), .s_axi_arvalid(s_axi_arvalid && second), .s_axi_arready(arready[1]),
        .s_axi_rdata(rdata[32 +: 32]), .s_axi_rresp(), .s_axi_rvalid(rvalid[1]), .s_axi_rready(s_axi_rready && second),
        .s_axis_tdata(s_axis_tdata), .s_axis_tkeep(4'hf), .s_axis_tlast(1'b0), .s_axis_tvalid(s_axis_tvalid && second),
        .s_axis_tready(in_ready[1]), .m_axis_tdata(out_data[16 +: 16]), .m_axis_tkeep(), .m_axis_tlast(),
        .m_axis_tvalid(out_valid[1]), .m_axis_tready(m_axis_tready && second), .run_done()
    );
endmodule
