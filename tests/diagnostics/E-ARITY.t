model_input x[3];
iterator i[0:3];
a = sum(x[0]);
b = sigmoid[i](x[i]);
