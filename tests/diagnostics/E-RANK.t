model_input x[3], y;
iterator i[0:3];
m = 2;
a[i] = y[i];
b = x + 1;
c[i] = x[i];
c = 1 + 1;
d = m[0];
