/** What is wrong with a configuration that the schemas could not see, because it takes several parts together. */

export interface Problem {
  /** Where: field names and indices of the Snapshot, as in binds[0].listeners[0].routes[2].policies.urlRewrite. */
  readonly path: string
  readonly message: string
}

/** Thrown with every problem found, so that one run shows all of them. */
export class ConfigError extends Error {
  readonly problems: readonly Problem[]

  constructor(problems: readonly Problem[]) {
    super(problems.map((problem) => `${problem.path}: ${problem.message}`).join('\n'))
    this.name = 'ConfigError'
    this.problems = problems
  }
}
