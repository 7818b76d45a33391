model_input x;
x = 3;
