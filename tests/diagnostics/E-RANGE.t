lo = 3;
model_input x[0];
iterator i[2:2], j[lo:1];
