package command

// SortMemoryParam is the parameter with the memory of a sort, in bytes.
const SortMemoryParam = "internalQueryMaxBlockingSortMemoryUsageBytes"
