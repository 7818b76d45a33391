model_input x[3];
iterator i[0:4];
a = x[3];
b[i] = x[i];
