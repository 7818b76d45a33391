    wire [1:0] mode_written = stream_written ? PLAY : data_written[2] || data_written[1:0] == 2'd3 ? PASS : data_written[1:0];
