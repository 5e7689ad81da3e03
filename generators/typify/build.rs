//! One module for each schema in the folder that `SCHEMAS` names.

use schemars::schema::RootSchema;
use std::{env, error::Error, fs, path::Path};
use typify::{TypeSpace, TypeSpaceSettings};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-env-changed=SCHEMAS");
    let folder = env::var("SCHEMAS")?;
    println!("cargo::rerun-if-changed={folder}");
    let mut files: Vec<_> = fs::read_dir(folder)?.collect::<Result<_, _>>()?;
    files.sort_by_key(fs::DirEntry::path);
    let (mut modules, mut table) = (String::new(), String::new());
    for (index, file) in files.iter().enumerate() {
        let path = file.path();
        let dialect = path.file_stem().and_then(|name| name.to_str()).ok_or("a name")?;
        modules += &format!("pub mod dialect{index} {{\n{}}}\n", types(&path)?);
        table +=
            &format!("({dialect:?}, again::<dialect{index}::Inbound>, again::<dialect{index}::Outbound>),\n");
    }
    let code =
        format!("{modules}\npub const DIALECTS: &[(&str, super::Again, super::Again)] = &[\n{table}];\n");
    fs::write(Path::new(&env::var("OUT_DIR")?).join("dialects.rs"), code)?;
    Ok(())
}

fn types(schema: &Path) -> Result<String, Box<dyn Error>> {
    let schema: RootSchema = serde_json::from_str(&fs::read_to_string(schema)?)?;
    let mut types = TypeSpace::new(&TypeSpaceSettings::default());
    types.add_root_schema(schema)?;
    Ok(prettyplease::unparse(&syn::parse2(types.to_stream())?))
}
