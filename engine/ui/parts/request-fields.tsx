/** Method, URL, headers and body of a request that somebody writes. */
import { Choice, Field, TextField } from '#engine/ui/parts/form.tsx'

export interface RequestDraft {
  readonly method: string
  readonly url: string
  /** "x-team: red", a line each. */
  readonly headers: string
  readonly body: string
}

const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'] as const

export interface RequestFieldsProps {
  readonly draft: RequestDraft
  readonly onChange: (changes: Partial<RequestDraft>) => void
  /** A URL that some listener takes. */
  readonly example: string
  /** Of the button. */
  readonly verb: string
  readonly isBusy?: boolean
  /** What is wrong with the URL. */
  readonly wrong: string | null
}

export function RequestFields({ draft, onChange, example, verb, isBusy = false, wrong }: RequestFieldsProps) {
  return (
    <>
      <div class="question">
        <Choice
          label="Method"
          value={draft.method}
          onChange={(method) => onChange({ method })}
          options={METHODS.map((one) => [one, one])}
        />
        <TextField
          label="URL"
          value={draft.url}
          onInput={(url) => onChange({ url })}
          placeholder={example}
          wrong={wrong}
          isRequired
        />
        <button type="submit" class="primary" disabled={isBusy}>
          {verb}
        </button>
      </div>
      <details>
        <summary>Headers and body</summary>
        <div class="fields">
          <Area
            label="Headers"
            hint="One in each line. They stay out of the address."
            placeholder="x-team: red"
            value={draft.headers}
            onInput={(headers) => onChange({ headers })}
          />
          <Area label="Body" value={draft.body} onInput={(body) => onChange({ body })} />
        </div>
      </details>
    </>
  )
}

interface AreaProps {
  readonly label: string
  readonly hint?: string
  readonly placeholder?: string
  readonly value: string
  readonly onInput: (text: string) => void
}

function Area({ label, hint, placeholder, value, onInput }: AreaProps) {
  return (
    <Field label={label} hint={hint}>
      {(ties) => (
        <textarea
          {...ties}
          spellcheck={false}
          placeholder={placeholder}
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  )
}
