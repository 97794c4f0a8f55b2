# Data sets as in the simulation study of Kuipers, Suter & Moffa (2022), for
# `python benchmarks/paper.py --data DIR`.
#
#     Rscript benchmarks/paper_data.R DIR 20 101 120     # variables, first, last seed
#
# Needs R with the package pcalg. Each data set is two files: the standardized data, and
# the DAG that they come from, whose entry [i, j] is the edge i -> j. The graphs and
# weights are pcalg's; another version of R or pcalg may draw others for the same seed,
# and then results are comparable with the paper's as a whole, not pair by pair.

library(pcalg)

arguments <- commandArgs(trailingOnly = TRUE)
folder <- arguments[1]
n <- as.integer(arguments[2])
seeds <- seq(as.integer(arguments[3]), as.integer(arguments[4]))
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

settings <- data.frame(
  type = c("ERs", "ERs", "ER", "BA", "BA", "iER"),
  parents = c(2, 2, 2, 2, 1, 3),
  rows_per_variable = c(10, 2, 10, 10, 10, 10)
)

draw_weights <- function(type, parents) {
  degree <- 2 * parents
  dag <- switch(type,
    ERs = randDAG(n, degree, wFUN = list(runif, min = 0.4, max = 2)),
    ER = randDAG(n, degree),
    BA = randDAG(n, degree, method = "barabasi", par1 = 0.4),
    iER = randDAG(n, degree, method = "interEr", par1 = 2, par2 = 0.1)
  )
  as(dag, "matrix")
}

# Parents before children: a node without undrawn parents is always left.
draw_data <- function(weights, n_rows) {
  X <- matrix(rnorm(n_rows * n), n_rows, n)
  left <- seq_len(n)
  while (length(left) > 0) {
    ready <- left[colSums(weights[left, left, drop = FALSE] != 0) == 0]
    drawn <- setdiff(seq_len(n), left)
    for (node in ready) {
      X[, node] <- X[, node] + X[, drawn, drop = FALSE] %*% weights[drawn, node]
    }
    left <- setdiff(left, ready)
  }
  scale(X)
}

for (k in seq_len(nrow(settings))) {
  one <- settings[k, ]
  n_rows <- one$rows_per_variable * n
  for (seed in seeds) {
    set.seed(seed)
    weights <- draw_weights(one$type, one$parents)
    X <- draw_data(weights, n_rows)
    name <- sprintf(
      "n_%d_N_%d_parents_%d_type_%s_seed_%d",
      n, as.integer(n_rows), as.integer(one$parents), one$type, seed
    )
    write.csv(X, file.path(folder, paste0(name, ".csv")), row.names = FALSE)
    write.csv(1 * (weights != 0), file.path(folder, paste0(name, "_dag.csv")),
              row.names = FALSE)
  }
}
