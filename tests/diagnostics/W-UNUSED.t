model_input x, y;
iterator i[0:3];
a = x + 1;
