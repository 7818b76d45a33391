model_input x, y
a = x + 1;
b = - x;
c = x <= y;
d = x / 2;
e = foo(x);
f = (x + 1;
g = x + 1);
iterator i;
h = x[i + 1];
/* old */
model_input sum;
p = sum[i][j](x);
q = x != y;
r = 2x;
s = x +
