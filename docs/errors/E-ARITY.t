model_input x[3];
a = sum(x[0]);
