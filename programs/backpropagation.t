// Backpropagation through two weight layers: inputs -> hidden -> outputs; squared error, one sample per update.
// Element 0 of x and a2 is the bias; element 0 of y and h is not used.
mu = 0.05;
l1 = 65;                    // inputs and bias
l2 = 25;                    // hidden units and bias
l3 = 11;                    // outputs and the unused element

model_input x[l1];
model_output y[l3];
model w12[l2][l1];
model w23[l3][l2];
gradient g12[l2][l1] -> w12;
gradient g23[l3][l2] -> w23;
iterator p_[0:l1];
iterator q_[0:l2];
iterator q[1:l2];
iterator r[1:l3];

a2[q] = sigmoid(sum[p_](w12[q][p_] * x[p_]));
a2[0] = 1;
h[r] = sigmoid(sum[q_](w23[r][q_] * a2[q_]));

d3[r] = h[r] - y[r];
d2[q] = sum[r](w23[r][q] * d3[r]) * (a2[q] * (1 - a2[q]));

g12[q][p_] = x[p_] * d2[q];
g23[r][q_] = a2[q_] * d3[r];
