// all names
// What is constant is computed here; a sum over nothing is a multiplication.
m = 2 ;
model_input x;
iterator i[0:4];
a = (2 + 3) * m * x - 0 * x;
s = sum[i](x);
b = 5 > 3;
c = pi[i](2);
