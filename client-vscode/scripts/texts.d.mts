export function bundle(folder: string): Promise<string>;
