model_input x[3];
iterator i[0:3];
a = x[i];
b = sum[i](x[i]) + x[i];
