/** What people write the first time. */

export interface Mistake {
  /** What somebody does, in a few words. */
  readonly what: string
  readonly text: string
  /** What the message must have: the cause, or the mending. */
  readonly says: RegExp
  /** The same, written as it is meant; it loads. Absent: the file is another program's. */
  readonly instead?: string
  /** As the file is called. Default weir.yaml. */
  readonly file?: string
}

export interface Group {
  readonly title: string
  readonly mistakes: readonly Mistake[]
}
