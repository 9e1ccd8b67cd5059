/** Bodies that are read ahead of what is done with them, and the model that they name: JSON, or forms. */
import { modelOf, parseAhead } from './json-body.ts'
import { formAhead, isForm, singleText } from './multipart.ts'

/** "" when it names none: the provider may have a model of its own. What is read is kept. Throws FormatError. */
export function modelAhead(bytes: Buffer, contentType: string): string {
  if (!isForm(contentType)) return modelOf(parseAhead(bytes))
  return singleText(formAhead(bytes, contentType), 'model') ?? ''
}

/** Throws FormatError. The result is kept as long as `bytes` are. */
export function readAhead(bytes: Buffer, contentType: string): void {
  if (isForm(contentType)) formAhead(bytes, contentType)
  else parseAhead(bytes)
}
