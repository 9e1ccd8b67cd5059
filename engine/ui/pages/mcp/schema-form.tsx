/** A form made from a JSON Schema. */
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Choice, Field, TextField } from '#engine/ui/parts/form.tsx'
import type { Json } from './messages.ts'
import { argumentsOf, fieldsOf, type SchemaField } from './schema.ts'

export interface SchemaFormProps {
  readonly schema: unknown
  /** Of the button. */
  readonly verb: string
  readonly isBusy?: boolean
  readonly onSubmit: (values: Json) => void
  /** Further buttons. */
  readonly children?: ComponentChildren
}

export function SchemaForm({ schema, verb, isBusy = false, onSubmit, children }: SchemaFormProps) {
  const fields = fieldsOf(schema)
  const [texts, setTexts] = useState<Readonly<Record<string, string>>>({})
  const [wrong, setWrong] = useState<Readonly<Record<string, string>>>({})
  const submit = (event: Event) => {
    event.preventDefault()
    const read = argumentsOf(fields, texts)
    setWrong(read.wrong)
    if (Object.keys(read.wrong).length === 0) onSubmit(read.values)
  }
  return (
    <form class="stack" onSubmit={submit}>
      {fields.length > 0 && (
        <div class="fields">
          {fields.map((field) => (
            <Control
              key={field.name}
              field={field}
              value={texts[field.name] ?? field.first}
              wrong={wrong[field.name] ?? null}
              onInput={(text) => setTexts((before) => ({ ...before, [field.name]: text }))}
            />
          ))}
        </div>
      )}
      <p class="actions">
        <button type="submit" class="primary" disabled={isBusy}>
          {verb}
        </button>
        {children}
      </p>
    </form>
  )
}

interface ControlProps {
  readonly field: SchemaField
  readonly value: string
  readonly wrong: string | null
  readonly onInput: (text: string) => void
}

function Control({ field: { title, about, kind, options, isRequired }, value, wrong, onInput }: ControlProps) {
  const label = isRequired ? title : `${title} (optional)`
  const shown = { label, hint: about === '' ? undefined : about, wrong }
  if (kind === 'choice' || kind === 'boolean') {
    const values = kind === 'boolean' ? ['true', 'false'] : options
    const choices = values.map((one): [string, string] => [one, one])
    return <Choice {...shown} value={value} onChange={onInput} options={[['', 'not set'], ...choices]} />
  }
  if (kind !== 'json') return <TextField {...shown} value={value} onInput={onInput} />
  return (
    <Field {...shown}>
      {(ties) => (
        <textarea
          {...ties}
          spellcheck={false}
          placeholder="JSON"
          value={value}
          onInput={({ currentTarget }) => onInput(currentTarget.value)}
        />
      )}
    </Field>
  )
}
