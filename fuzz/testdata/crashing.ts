export const name = 'crashing'
export const dictionary = ['magic']

export function run(data: Buffer): void {
  if (data.includes('magic')) throw new Error('the planted fault')
}
