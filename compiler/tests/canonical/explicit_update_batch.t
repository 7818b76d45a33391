// train batch 4
// A program that assigns its weights says what one sample does, not what four do.
mu = 0.5;
model_input x;
model w;
w = w - mu * x;
