model_input x[4];
model_output y;
iterator i[0:4], q[1:4];
a[q] = x[q];
b = sum[i](a[i]);
c = y + 1;
y = 2 * x[0];
d = a[5];
