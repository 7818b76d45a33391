model_input x, y;
a = x + 1;
