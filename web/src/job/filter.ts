/* The filter of jobs: a condition that the server understands (`where` of the list of jobs). */

export const FILTER_EXAMPLE = "Filter: words, state=FAILED, loss<0.5";

export const FILTER_HELP =
  "Words are looked for in name, id, model, state and labels. NAME=VALUE (or !=, <, <=, >, >=, and " +
  "~ for contains) asks for a field (state, health, step, loss), a label, a series " +
  "(val_accuracy>0.8, min(val_loss)<2) or a setting (lr<=0.01, optimizer.SGD.momentum=0.9). " +
  "Parts beside each other must all hold; or, not and parentheses are understood.";
