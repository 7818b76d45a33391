    wire [1:0] mode_written = data_written[1:0] == 2'd3 ? PASS : data_written[1:0];
