model_input x[3];
model x[3];
