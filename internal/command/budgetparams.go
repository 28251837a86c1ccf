package command

// SortMemoryParam is the name of the parameter that limits the memory of one sort, in bytes.
const SortMemoryParam = "internalQueryMaxBlockingSortMemoryUsageBytes"
