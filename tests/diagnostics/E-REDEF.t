m = 3;
model_input x[m];
model x[m];
iterator m[0:2];
