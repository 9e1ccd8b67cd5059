/** What is typed at a cluster for the transcript, and what has to be seen. */

export interface Command {
  readonly run: string
  /** Of the output. */
  readonly shows: RegExp
  /** It is run again and again until that is there: others have to do something first. */
  readonly isAwaited?: true
}

export interface Step {
  readonly title: string
  readonly text: string
  /** Manifests by names of files, written ahead of the commands and shown. */
  readonly files: Readonly<Record<string, string>>
  readonly commands: readonly Command[]
}

/** Seen at once. */
export const seen = (run: string, shows: RegExp): Command => ({ run, shows })
/** Seen when the cluster has done its part. */
export const awaited = (run: string, shows: RegExp): Command => ({ run, shows, isAwaited: true })
