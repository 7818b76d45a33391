m = 2;
m = 3;
model_input x[m];
iterator i[0:m];
s = sum[i](x[i]);
