// Backpropagation through four layers of neurons, three weight layers; squared error, one sample per update.
// Element 0 of x, a2 and a3 is the bias; element 0 of y and h is not used.
mu = 0.05;
l1 = 65;                    // inputs and bias
l2 = 25;                    // hidden units and bias
l3 = 17;                    // hidden units and bias
l4 = 11;                    // outputs and the unused element

model_input x[l1];
model_output y[l4];
model w12[l2][l1];
model w23[l3][l2];
model w34[l4][l3];
gradient g12[l2][l1] -> w12;
gradient g23[l3][l2] -> w23;
gradient g34[l4][l3] -> w34;
iterator j1_[0:l1];
iterator j2_[0:l2];
iterator j3_[0:l3];
iterator j2[1:l2];
iterator j3[1:l3];
iterator j4[1:l4];

a2[j2] = sigmoid(sum[j1_](w12[j2][j1_] * x[j1_]));
a2[0] = 1;
a3[j3] = sigmoid(sum[j2_](w23[j3][j2_] * a2[j2_]));
a3[0] = 1;
h[j4] = sigmoid(sum[j3_](w34[j4][j3_] * a3[j3_]));

d4[j4] = h[j4] - y[j4];
d3[j3] = sum[j4](w34[j4][j3] * d4[j4]) * (a3[j3] * (1 - a3[j3]));
d2[j2] = sum[j3](w23[j3][j2] * d3[j3]) * (a2[j2] * (1 - a2[j2]));

g12[j2][j1_] = x[j1_] * d2[j2];
g23[j3][j2_] = a2[j2_] * d3[j3];
g34[j4][j3_] = a3[j3_] * d4[j4];
