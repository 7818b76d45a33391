model_input x[4];
iterator i[0:4], q[1:4];
a[q] = x[q];
b = sum[i](a[i]);
