// Two bits of a choice between two words in each table, which has two outputs.
LUT6_2 #(.INIT(64'hff00_f0f0_cccc_aaaa)) @name@_pair [@last@:0] (
    .O6(@name@[@top@:@half@]), .O5(@name@[@last@:0]), .I5(1'b1), .I4(@select@),
    .I3(@one@[@top@:@half@]), .I2(@zero@[@top@:@half@]), .I1(@one@[@last@:0]), .I0(@zero@[@last@:0])
);
