/** What has to be known of a long form before it goes on to a provider, and what may still come behind that. */
import { FormatError } from '#backends/llm/formats/format.ts'

/** A form is kept until what has to be known of it has come, up to so many bytes: more than pictures and sound have. */
export const FORM_HELD_BYTES_MAX = 64 * 1024 * 1024

export interface FormNeeds {
  /** Fields whose texts decide. */
  readonly ahead: readonly string[]
  /** Whether a form with these texts may go on, of which a file has begun to come. */
  mayPass(texts: ReadonlyMap<string, string>): boolean
  /** As much of it is kept as may be, and it may not pass yet. Throws FormatError: it is refused. */
  overlong(texts: ReadonlyMap<string, string>): void
  /** A part comes when the rest has gone. True: its text is wanted. Throws FormatError: it may not come so late. */
  late(name: string): boolean
  /** That text. Throws FormatError. */
  lateText(name: string, value: string): void
}

/** More of a form would have to be kept than may be. */
export class FormTooLong extends FormatError {
  override readonly status = 413

  constructor(field: string, why: string) {
    super(
      field,
      `${why}: of a form with files ${FORM_HELD_BYTES_MAX} bytes are kept until this has come, or as many as ` +
        'frontendPolicies.http.maxBufferSize says if that is more'
    )
  }
}

export const tooLate = (name: string): FormatError =>
  new FormatError(name, 'must be in the form once, and ahead of the files where those are long')

/** Of an API that reads these fields, of which the first is required. */
export function fieldsAhead(required: string, others: readonly string[]): FormNeeds {
  const read = [required, ...others]
  return {
    ahead: [required],
    mayPass: (texts) => texts.has(required),
    overlong() {
      throw new FormTooLong(required, 'must be ahead of the files')
    },
    late(name) {
      if (read.includes(name)) throw tooLate(name)
      return false
    },
    lateText() {}
  }
}
