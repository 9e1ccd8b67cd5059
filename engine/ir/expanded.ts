/** A scalar of the configuration file that has references to variables of the environment. */
export interface Expanded {
  /** As the file has it, with the references. */
  readonly written: string
  readonly value: string
  /** The references in it that stand for values of the environment, and these. */
  readonly variables: readonly { readonly written: string; readonly value: string }[]
}
