// The bits that are left over from whole groups.
wire [5:0] rest;
RAM32M narrow (
    .WCLK(clock), .WE(write), .ADDRA(@read@), .ADDRB(@read@), .ADDRC(@read@), .ADDRD(@write@),
    .DIA(@data@[1:0]), .DIB(@data@[3:2]), .DIC(@data@[5:4]), .DID(2'd0),
    .DOA(rest[1:0]), .DOB(rest[3:2]), .DOC(rest[5:4]), .DOD()
);
